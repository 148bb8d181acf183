// SPDX-License-Identifier: Apache-2.0
// The classifier (RFC 7665, section 4.4): rules on the port and the 5-tuple give packets an NSH.
#ifndef SFCMON_CLASSIFIER
#define SFCMON_CLASSIFIER

#include "headers.p4"

control Classifier(inout headers_t hdr,
                   inout metadata_t meta,
                   in standard_metadata_t standard) {
    // MD type 1 with zero context. The SFF decrements the TTL before it sends the packet on.
    action encapsulate(bit<24> spi, bit<8> si) {
        hdr.nsh.setValid();
        hdr.nsh.version = 0;
        hdr.nsh.oam = 0;
        hdr.nsh.unassigned = 0;
        hdr.nsh.ttl = NSH_TTL;
        hdr.nsh.words = NSH_MD1_WORDS;
        hdr.nsh.unassigned2 = 0;
        hdr.nsh.md_type = NSH_MD_TYPE_1;
        hdr.nsh.next_protocol = NSH_NEXT_ETHERNET;
        hdr.nsh.spi = spi;
        hdr.nsh.si = si;
        hdr.nsh_md1.setValid();
        hdr.nsh_md1.context = 0;
        meta.nsh_bytes = NEW_NSH_BYTES;
        meta.length = meta.length + NEW_NSH_BYTES;
        meta.bypasses = 0;
    }

    action bypass() {
        meta.bypasses = 1;
    }

    // The rule with the highest priority wins.
    table rules {
        key = {
            standard.ingress_port: exact @name("port");
            meta.flow.version: ternary @name("version");
            meta.flow.protocol: ternary @name("protocol");
            meta.flow.source: ternary @name("source");
            meta.flow.destination: ternary @name("destination");
            meta.flow.source_port: range @name("source_port");
            meta.flow.destination_port: range @name("destination_port");
        }
        actions = {
            encapsulate;
            bypass;
        }
        const default_action = bypass();
        size = 65536;
    }

    // Where packets of SFs behind the proxy go on: SPI, and the SI that the proxy has decremented
    // in the place of the SF.
    table returns {
        key = {
            standard.ingress_port: exact @name("port");
        }
        actions = {
            encapsulate;
            bypass;
        }
        const default_action = bypass();
        size = 128;
    }

    apply {
        if (meta.kind == KIND_PLAIN) {
            if (hdr.ethernet.ethertype == ETHERTYPE_IPV4 ||
                hdr.ethernet.ethertype == ETHERTYPE_IPV6) {
                returns.apply();
                if (meta.bypasses == 1) {
                    meta.drop = DROP_NO_PATH;
                }
            } else {
                meta.drop = DROP_NOT_IP;
            }
        } else if (meta.flow.version == 0) {
            meta.drop = DROP_UNPARSED;
        } else {
            rules.apply();
        }
    }
}

#endif
