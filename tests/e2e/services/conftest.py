from support.services.service import kafka as kafka
