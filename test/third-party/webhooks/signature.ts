import { createHmac } from 'node:crypto'

export interface Signed {
  readonly id: string
  readonly atSecs: number
  readonly body: string
}

/** HMAC-SHA256 over id, time and body, so that none of them can be another's; as Standard Webhooks has it. */
export const sign = (key: Buffer, { id, atSecs, body }: Signed): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${atSecs}.${body}`).digest('base64')}`
