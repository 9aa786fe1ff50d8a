import { ago, brief, time, utc } from '../format.ts'

interface Props {
  readonly at: string // RFC 3339
  readonly form?: 'ago' | 'brief'
}

/** A time of the browser's zone; the pointer shows it in UTC. */
export const When = ({ at, form }: Props) => (
  <time dateTime={at} title={form === 'ago' ? `${time(at)} · ${utc(at)}` : utc(at)}>
    {form === 'ago' ? ago(at) : form === 'brief' ? brief(at) : time(at)}
  </time>
)
