from support.services import kafka as kafka
