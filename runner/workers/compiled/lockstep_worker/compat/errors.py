"""The classes and the words by which Dynamo, AOT autograd and Inductor say that they failed."""

import os
import re

#: Where the compiler's own exceptions are defined.
MODULES = (
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch.fx",
    "torch._subclasses",
    "torch._decomp",
    "torch._prims",
    "torch._refs",
    "torch.utils._sympy",
    "sympy",
    "triton",
)
DYNAMO, INDUCTOR = "torch._dynamo", "torch._inductor"
#: Where generated code and the compiler's own code lie: an assertion there is the compiler's.
FOLDERS = tuple(
    f"{os.sep}torch{os.sep}{name}{os.sep}" for name in ("_dynamo", "_inductor", "_functorch")
)

#: What `fullgraph=True` says where Dynamo compiled nothing.
NOTHING = "torch.compile with fullgraph=True found no compiled frames"
#: How the message of an operator begins that failed on fake tensors, and how Dynamo quotes its
#: error.
FAKE = "Dynamo failed to run FX node"
QUOTED = re.compile(r": got (\w+)\((.*)\)", re.DOTALL)
#: What parts a message from the lines of the program that Dynamo adds.
USER_CODE = "\n\nfrom user code"

#: Where, and by which call, AOT autograd has a backward compiled when it is called first.
AOT = f"{os.sep}torch{os.sep}_functorch{os.sep}_aot_autograd{os.sep}"
LATE_BACKWARD = "bw_compiler("

#: How an exported program says that it was not exported for what it is given.
GUARD = ("Guard failed", "Expected input at ")
#: Exceptions that only pass another one on.
WRAPPERS = ("BackendCompilerFailed", "InductorError", "LoweringException")
BACKEND, OF_INDUCTOR, FAKE_TENSORS = "BackendCompilerFailed", "InductorError", "TorchRuntimeError"
#: Dynamo says that it does not support this.
REFUSED = frozenset({"Unsupported", "FailOnRecompileLimitHit", "UserError"})
#: Torch's exceptions by which what Dynamo hands a graph to says that it does not support something;
#: NotImplementedError besides.
UNSUPPORTED = frozenset(
    {
        "Unsupported",
        "MissingOperatorWithoutDecomp",
        "MissingOperatorWithDecomp",
        "UnsupportedOperatorException",
        "UnsupportedFakeTensorException",
        "UnsupportedMutationAliasingException",
        "DynamicOutputShapeException",
        "DataDependentOutputException",
    }
)
#: Besides these, how tracing says that it cannot go on without the values of tensors.
NEEDS_DATA = "GuardOnDataDependentSymNode"
#: How the message of a LoweringException goes on after that of its fingerprint.
LOWERING = "LoweringException"
TARGET = re.compile(r"^ *(target: .*(?:\n *(?:args\[\d+\]|kwargs): .*)*)", re.MULTILINE)
#: An exception that Dynamo saw the program raise.
OBSERVED = "ObservedException"
OF_DYNAMO = "InternalTorchDynamoError"
