import { ago, brief, time, timeWithSeconds, utc } from '../format.ts'

const forms = { ago, brief, seconds: timeWithSeconds }
export type TimeFormat = keyof typeof forms

interface Props {
  readonly at: string // RFC 3339
  readonly format?: TimeFormat | undefined
}

/** A time in the zone of the browser. Its tooltip shows UTC. */
export const Timestamp = ({ at, format }: Props) => (
  <time dateTime={at} title={format === 'ago' ? `${time(at)} · ${utc(at)}` : utc(at)}>
    {format ? forms[format](at) : time(at)}
  </time>
)
