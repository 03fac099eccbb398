"""DLPack: a tensor on tpu is exported as a copy in host memory.

A PJRT buffer is not memory that another library may address, so nothing is shared: what the
consumer writes is not seen here. ``torch.from_dlpack(x, device="tpu")`` imports, by a copy too;
of a tensor on tpu ``torch.from_dlpack`` makes one that shares its memory, as on any device.
"""

import functools

import torch

_CPU = (1, 0)  # (kDLCPU, 0)


def _on_tpu(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "tpu"


def _refuse_gradient(tensor: torch.Tensor) -> None:
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")


def _host_copy(tensor: torch.Tensor, dl_device, copy) -> torch.Tensor:
    """Return what is exported, or raise the BufferError that DLPack asks for."""
    _refuse_gradient(tensor)
    if copy is False:
        raise BufferError("Can't export a tpu tensor without a copy: use copy=None or copy=True")
    if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != _CPU:
        raise BufferError(
            f"Can't export a tpu tensor to DLPack device {tuple(dl_device)}: only to the CPU"
        )
    return tensor.cpu()


def install() -> None:
    """Give ``Tensor.__dlpack__`` and ``__dlpack_device__`` an answer for tensors on tpu."""
    export, where = torch.Tensor.__dlpack__, torch.Tensor.__dlpack_device__

    @functools.wraps(export)
    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):  # noqa: N807
        if _on_tpu(self):
            host = _host_copy(self, dl_device, copy)
            return export(host, stream=None, max_version=max_version)
        return export(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    @functools.wraps(where)
    def __dlpack_device__(self):  # noqa: N807
        return _CPU if _on_tpu(self) else where(self)

    imports = torch.from_dlpack

    @functools.wraps(imports)
    def from_dlpack(ext_tensor, *, device=None, copy=None):
        if not isinstance(ext_tensor, torch.Tensor) or not _on_tpu(ext_tensor):
            return imports(ext_tensor, device=device, copy=copy)
        if device is not None and torch.device(device) != ext_tensor.device:
            return imports(ext_tensor, device=device, copy=copy)
        _refuse_gradient(ext_tensor)
        return ext_tensor.detach().clone() if copy else ext_tensor.detach()

    torch.from_dlpack = torch.utils.dlpack.from_dlpack = from_dlpack
    torch.Tensor.__dlpack__ = __dlpack__
    torch.Tensor.__dlpack_device__ = __dlpack_device__
