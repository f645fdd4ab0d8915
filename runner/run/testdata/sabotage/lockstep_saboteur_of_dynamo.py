"""Switches Dynamo off, which no path file may: from then on programs run as Python does."""

import torch

torch._dynamo.config.disable = True
