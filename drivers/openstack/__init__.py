"""The OpenStack driver: VMs by nova, networks by neutron, chains by networking-sfc or an overlay.

Sub-packages import only those above them in this list:

- `model`: configuration, specifications of machines and chains; no cloud needed
- `api`: one connection to a cloud, with retries, and its errors
- `resources`: find, create and delete resources by kind and name; the run's context
- `network`: networks and ports of a run
- `compute`: servers, flavors, guests, diagnostics
- `cleanup`: remove what the journal names
- `lifecycle`: make machines and chains by nova or Tacker
- `planning`: what scenarios need, and whether the cloud can provide it
- `overlay`: guests whose own SFFs make the chain

`traversal`, the proof that packets cross the functions, uses none of them. `CloudSession`,
`ScenarioDeployment` and `OpenStackDriver` in this folder put the parts together.
"""
