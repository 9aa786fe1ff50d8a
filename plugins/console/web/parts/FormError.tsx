import { Alert, Text } from '@mantine/core'
import { type ApiError, errorOf } from '../api/api-error.ts'
import { text } from '../text/text.ts'

interface Props {
  readonly error: Error | null
  readonly fields?: readonly string[] // which show their error themselves
  readonly hint?: string
}

/** The error of a form. */
export function Refusal({ error, fields = [], hint }: Props) {
  const refusal = error && errorOf(error)
  if (hint === undefined && (refusal === null || fields.includes(refusal.field ?? ''))) return null
  return (
    <Alert color="red" role="alert" variant="default">
      {hint ?? (refusal && <Reason error={refusal} />)}
    </Alert>
  )
}

/** What an error means for who reads it; the same everywhere. */
export const Reason = ({ error }: { readonly error: ApiError }) => (
  <>
    <Text size="sm">{meaningOf(error)}</Text>
    {error.requestId !== null && error.status >= 500 && (
      <Text size="xs" c="dimmed">
        {text.request(error.requestId)}
      </Text>
    )}
  </>
)

function meaningOf({ status, code, retryAfterSecs, message }: ApiError): string {
  if (status === 0) return text.serverAway
  if (status === 412) return text.changedMeanwhile
  if (status === 429) return text.busy(retryAfterSecs ?? 1)
  if (code === 'store_unavailable') return text.storeAway
  return message
}
