import { Alert, Button, Stack } from '@mantine/core'
import { errorOf } from '../api/api-error.ts'
import { text } from '../text/text.ts'
import { Reason } from './FormError.tsx'

/** In place of what could not be read. */
export const Failed = ({ error, retry }: { readonly error: Error | null; readonly retry: () => unknown }) => (
  <Alert color="red" variant="default" role="alert" title={text.failed} maw={560}>
    <Stack gap="sm" align="start">
      <Reason error={errorOf(error)} />
      <Button variant="default" size="xs" onClick={() => void retry()}>
        {text.retry}
      </Button>
    </Stack>
  </Alert>
)
