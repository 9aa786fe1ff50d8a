import { Alert, Text } from '@mantine/core'
import { type ApiError, toApiError } from '../../api/api-error.ts'
import { text } from '../../text/text.ts'
import { errorMessage } from './error-message.ts'

interface Props {
  readonly error: Error | null
  readonly shownFields?: readonly string[] // these fields show their own error
  readonly hint?: string
}

/** The error of a form, unless a field shows it. `hint` replaces it. */
export function FormError({ error, shownFields = [], hint }: Props) {
  const refusal = error && toApiError(error)
  if (hint === undefined && (refusal === null || shownFields.includes(refusal.field ?? ''))) return null
  return (
    <Alert color="red" role="alert" variant="default">
      {hint ?? (refusal && <ErrorText error={refusal} />)}
    </Alert>
  )
}

/** The text of an error, the same on all pages. */
export const ErrorText = ({ error }: { readonly error: ApiError }) => (
  <>
    <Text size="sm">{errorMessage(error)}</Text>
    {error.requestId !== null && error.status >= 500 && (
      <Text size="xs" c="dimmed">
        {text.request(error.requestId)}
      </Text>
    )}
  </>
)
