# SPDX-License-Identifier: Apache-2.0
# What SFCPerf calls of bmv2's Thrift interface.

enum RegisterOperationErrorCode {
    INVALID_REGISTER_NAME = 1,
    INVALID_INDEX = 2,
    ERROR = 3
}

exception InvalidRegisterOperation {
    1: RegisterOperationErrorCode code
}

# The service `standard`. `cxt_id` is 0: only switches with several pipelines have others.
service Standard {
    i64 bm_register_read(1: i32 cxt_id, 2: string register_array_name, 3: i32 idx)
        throws (1: InvalidRegisterOperation ouch),

    list<i64> bm_register_read_all(1: i32 cxt_id, 2: string register_array_name)
        throws (1: InvalidRegisterOperation ouch),

    void bm_register_write(
        1: i32 cxt_id, 2: string register_array_name, 3: i32 index, 4: i64 value)
        throws (1: InvalidRegisterOperation ouch),

    # `end_index` is behind the last cell.
    void bm_register_write_range(
        1: i32 cxt_id, 2: string register_array_name, 3: i32 start_index, 4: i32 end_index,
        5: i64 value)
        throws (1: InvalidRegisterOperation ouch),

    void bm_register_reset(1: i32 cxt_id, 2: string register_array_name)
        throws (1: InvalidRegisterOperation ouch)
}

# The service `simple_switch`.
service SimpleSwitch {
    i32 set_all_egress_queue_depths(1: i32 depth_pkts)
}
