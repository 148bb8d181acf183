"""The controller's side of SDN-Mon: an os-ken application and a REST interface."""
