import type { Metric } from '../../kernel/metrics.ts'
import { ownVersion } from '../../kernel/platform/version.ts'

/** Returns a metric that is always 1 and carries versions as labels. `name`: 'svc_build_info', for example. */
export const buildInfo = (name: string, more: Readonly<Record<string, string>> = {}): Metric => {
  const labels = { version: ownVersion(), node: process.version, ...more }
  return {
    name,
    type: 'gauge',
    help: 'Always 1; carries the versions of Sluice and Node.',
    labels: Object.keys(labels),
    samples: [{ labelValues: Object.values(labels), value: 1 }]
  }
}
