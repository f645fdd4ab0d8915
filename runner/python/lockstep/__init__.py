"""Lockstep as pip installs it: does a compiled PyTorch program still compute what eager computes?

Beside these modules, what ci/cmake/Wheel.cmake carries:

    bin/lockstep     the runner, which knows no torch
    suite/           LOCKSTEP_HOME: cases/, expected/ and parts of runner/, laid out as in the
                     repository; runner/workers/eager/units/ is what the eager worker is built from
    prefix/          include/ and lib/ of the libraries of others that this build needs
"""
