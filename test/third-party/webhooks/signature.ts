import { createHmac } from 'node:crypto'

export interface SignedContent {
  readonly id: string
  readonly timestampSecs: number
  readonly body: string
}

/** Returns a Standard Webhooks signature: HMAC-SHA256 over id, timestamp and body. */
export const sign = (key: Buffer, { id, timestampSecs, body }: SignedContent): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestampSecs}.${body}`).digest('base64')}`
