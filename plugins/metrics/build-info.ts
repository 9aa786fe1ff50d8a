import { ownVersion } from '../../kernel/base/version.ts'
import type { Metric } from '../../kernel/metrics.ts'

/** Always 1; carries what runs. `name`: 'svc_build_info'. */
export const buildInfo = (name: string, more: Readonly<Record<string, string>> = {}): Metric => {
  const labels = { version: ownVersion(), node: process.version, ...more }
  return {
    name,
    type: 'gauge',
    help: 'Always 1; carries the versions of program and Node.',
    labels: Object.keys(labels),
    samples: [{ labelValues: Object.values(labels), value: 1 }]
  }
}
