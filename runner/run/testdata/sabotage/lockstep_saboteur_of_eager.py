"""Makes eager Python differ from C++ eager, as a mode or an extension that leaks into a process
would."""

import torch

library = torch.library.Library("aten", "IMPL")
library.impl("relu", lambda x: torch.clamp_min(x, 0) + 1, "CPU")
