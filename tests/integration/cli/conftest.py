from support.bench import bench

__all__ = ["bench"]
