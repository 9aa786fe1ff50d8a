import { X509Certificate } from 'node:crypto'
import type { Metrics } from '../../kernel/metrics.ts'

/** Reports when the certificate of the control stream expires. The plugin http reports that of the API. */
export function certificateExpiry(certificate: string): Metrics {
  const value = new X509Certificate(certificate).validToDate.getTime() / 1000
  return async () => [
    {
      name: 'svc_certificate_expiry_timestamp_seconds',
      type: 'gauge',
      help: 'Expiry of the certificates of control stream and API.',
      labels: ['certificate'],
      samples: [{ labelValues: ['control'], value }]
    }
  ]
}
