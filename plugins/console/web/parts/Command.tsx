import { Button, CopyButton } from '@mantine/core'
import { text } from '../text/text.ts'

/** A line of code with a copy button. */
export const Command = ({ value }: { readonly value: string }) => (
  <div className="command">
    <code>{value}</code>
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy} aria-live="polite">
          {copied ? text.copied : text.copy}
        </Button>
      )}
    </CopyButton>
  </div>
)
