/** A message as a channel sends it. */
export interface Outgoing {
  readonly id: string
  readonly kind: string
  readonly at: number // ms
  readonly count: number
  readonly names: readonly string[]
  readonly title: string
  readonly text: string
  readonly isUrgent: boolean
}

export interface Outcome {
  readonly result: 'delivered' | 'failed' | 'interrupted'
  readonly status: number | null // of HTTP
  readonly error: string | null
}
