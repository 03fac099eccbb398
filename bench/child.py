"""child.py SYSTEM CASE [ARGS]: one measurement in this interpreter; the last line is its JSON.

SYSTEM is ``cpu`` (PyTorch's own CPU), ``ours`` (the torch_tpu of this interpreter) or ``official``
(Google's torch_tpu, with its plugin in TPU_LIBRARY_PATH). CASE is ``startup`` or a function of
cases.py.
"""

import json
import os
import sys
import time


def memory() -> dict[str, float]:
    """Resident MB: now and at most so far."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {key: int(fields[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM")}


def timed_import(system: str) -> dict[str, dict[str, float]]:
    """Import torch and the backend; what each took, and the memory that the backend added."""
    figures = {}
    wall, cpu = time.perf_counter(), time.process_time()
    import torch  # noqa: F401

    def lap(name: str) -> None:
        nonlocal wall, cpu
        now = time.perf_counter(), time.process_time()
        figures[name] = {"wall": now[0] - wall, "cpu": now[1] - cpu}
        wall, cpu = now

    lap("import torch")
    before = memory()
    if system != "cpu":
        import torch_tpu  # noqa: F401

        lap("import backend")
        after = memory()
        figures["import memory"] = {"value": after["VmHWM"] - before["VmHWM"]}
    return figures


def open_device(system: str):
    """Return the device of ``system``, in Strict mode."""
    import torch

    if system == "cpu":
        return torch.device("cpu")
    if system == "official":  # it looks for a TPU at import, finds none, and must be told
        import torch_tpu

        torch_tpu._loader._init_device("tpu")
    torch.tpu.eager_mode = torch.tpu.EagerMode.DEFER_NEVER
    return torch.device("tpu")


def startup(device) -> dict[str, dict[str, float]]:
    """The very first operator, which opens the plugin."""
    import torch
    from cases import Clock

    clock = Clock()
    (torch.ones(16).to(device) + 1).cpu()
    return {"first operator of all": clock.read(), "peak memory": {"value": memory()["VmHWM"]}}


def main(system: str, case: str, *args: str) -> None:
    """Measure and print."""
    imports = timed_import(system)
    device = open_device(system)
    import cases

    if case == "startup":
        figures = imports | startup(device)
        parts = [figures[k] for k in ("import backend", "first operator of all") if k in figures]
        figures["import and first operator"] = {k: sum(p[k] for p in parts) for k in parts[0]}
    else:
        figures = getattr(cases, case)(device, *(int(a) if a.isdigit() else a for a in args))
    print(json.dumps({"figures": figures, "load": os.getloadavg()[0]}), flush=True)
    os._exit(0)  # how a system ends is not measured


if __name__ == "__main__":
    main(*sys.argv[1:])
