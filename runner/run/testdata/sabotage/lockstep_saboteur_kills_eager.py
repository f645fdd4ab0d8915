"""Ends the process in eager Python, before anything is compiled; the compiler is not to blame."""

import os

import torch

library = torch.library.Library("aten", "IMPL")
library.impl("relu", lambda x: os.abort(), "CPU")
