import { Alert, Button, Stack } from '@mantine/core'
import { toApiError } from '../api/api-error.ts'
import { text } from '../text/text.ts'
import { ErrorText } from './form/FormError.tsx'

/** Replaces content that failed to load. */
export const LoadError = ({
  error,
  retry
}: {
  readonly error: Error | null
  readonly retry: () => unknown
}) => (
  <Alert color="red" variant="default" role="alert" title={text.failed} maw={560}>
    <Stack gap="sm" align="start">
      <ErrorText error={toApiError(error)} />
      <Button variant="default" size="xs" onClick={() => void retry()}>
        {text.retry}
      </Button>
    </Stack>
  </Alert>
)
