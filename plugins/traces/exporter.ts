// Sends finished spans to the collector, in batches. A slow or absent collector costs spans, never a request.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Control } from '../../kernel/control/control.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import { openDelivery } from './delivery.ts'
import { otlpJson, type RecordedSpan } from './otlp-json.ts'
import { type Settings, tracesUrl } from './settings.ts'
import type { SpanCounts } from './span-counts.ts'
import { SpanQueue } from './span-queue.ts'

export interface Exporter {
  /** Takes a span to send. Returns at once. */
  add(span: RecordedSpan): void
  start(defer: (release: Release) => void): void
}

interface Deps {
  readonly config: Settings
  readonly clock: Clock
  readonly log: Log
  readonly control: { readonly servers: Pick<Control['servers'], 'id'> }
  readonly spanCounts: SpanCounts
}

const batchSize = 512
const intervalMs = 5_000

export function openExporter(deps: Deps): Exporter {
  const { config, clock, spanCounts } = deps
  const queue = new SpanQueue(() => spanCounts.add('dropped', 1))
  const delivery = openDelivery(deps)
  const resource = resourceOf(deps)
  let sending: Promise<void> | null = null

  async function sendAll(): Promise<void> {
    while (queue.size > 0) {
      const spans = queue.take(batchSize)
      const url = tracesUrl(config)
      if (!url) return spanCounts.add('dropped', spans.length + queue.take(queue.size).length) // turned off
      const error = await delivery.send(url, otlpJson(spans, resource))
      spanCounts.add(error === null ? 'sent' : 'failed', spans.length)
    }
  }

  function flush(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = null
    })
    return sending
  }

  return {
    add(span) {
      queue.add(span)
      if (queue.size >= batchSize && !delivery.isEnding) void flush()
    },
    start(defer) {
      defer(async () => {
        const end = delivery.end()
        await flush()
        await end()
      })
      defer(clock.every(intervalMs, () => void flush()))
    }
  }
}

const resourceOf = ({ control }: Deps) => ({
  'service.name': 'sluice',
  'service.version': ownVersion(),
  'service.instance.id': control.servers.id
})
