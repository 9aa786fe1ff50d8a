// A page of a plugin on the metrics listener.
import type { Readable } from 'node:stream'
import { defineSlot } from '../../kernel/slot.ts'

/** Answers GET without authentication, so it must be cheap and hold no secret. */
export interface Page {
  readonly path: `/${string}`
  read(): Promise<{
    readonly status: number
    readonly type: string
    readonly body: Iterable<Buffer> | Readable
  }>
}

export const pageSlot = defineSlot<Page>('metrics.page', { keyOf: ({ path }) => path })
