import { asFunction } from 'awilix'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { type Tracer, tracerSlot } from '../http/exports.ts'
import { type Exporter, openExporter } from './exporter.ts'
import { keys, tracesUrl } from './settings.ts'
import { openSpanCounts, type SpanCounts } from './span-counts.ts'
import { openTracer } from './tracer.ts'

interface Deps extends Kernel<typeof keys> {
  readonly spanCounts: SpanCounts
  readonly exporter: Exporter
  readonly tracer: Tracer
}

export default definePlugin<Deps>({
  name: 'traces',
  version: '1.0.0',
  description: 'Traces of requests, from the caller to the agent, for an OpenTelemetry collector.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  keys,
  checkConfig: config => void tracesUrl(config),
  services: {
    spanCounts: asFunction(openSpanCounts).singleton(),
    exporter: asFunction(openExporter).singleton(),
    tracer: asFunction(openTracer).singleton()
  },
  fills: [
    tracerSlot.fillWith(({ tracer }: Deps) => tracer),
    metricsSlot.fillWith(({ spanCounts }: Deps) => spanCounts.metrics)
  ],
  start: async ({ deps: { exporter }, defer }) => exporter.start(defer)
})
