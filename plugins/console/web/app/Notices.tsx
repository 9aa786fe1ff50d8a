import { Notification } from '@mantine/core'
import { ErrorText } from '../parts/form/FormError.tsx'
import { text } from '../text/text.ts'
import { dismiss, useNotices } from './notices.ts'

export const Notices = () => (
  <div className="notices" role="status" aria-live="polite">
    {useNotices().map(({ id, what }) => (
      <Notification
        key={id}
        withBorder
        color={typeof what === 'string' ? 'teal' : 'red'}
        closeButtonProps={{ 'aria-label': text.close }}
        onClose={() => dismiss(id)}
      >
        {typeof what === 'string' ? what : <ErrorText error={what} />}
      </Notification>
    ))}
  </div>
)
