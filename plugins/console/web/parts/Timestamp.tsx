import { ago, brief, time, timeWithSeconds, utc } from '../format.ts'

const forms = { ago, brief, seconds: timeWithSeconds }

interface Props {
  readonly at: string // RFC 3339
  readonly form?: keyof typeof forms
}

/** A time of the browser's zone; the pointer shows it in UTC. */
export const When = ({ at, form }: Props) => (
  <time dateTime={at} title={form === 'ago' ? `${time(at)} · ${utc(at)}` : utc(at)}>
    {form ? forms[form](at) : time(at)}
  </time>
)
