import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Dialog } from './Dialog.tsx'
import { Section } from './Section.tsx'

interface Props {
  readonly title: string
  readonly note?: string
  readonly addLabel: string
  readonly form: (close: () => void) => ReactNode // of a new record
  readonly children: ReactNode
}

/** A section of records, with a dialog for a new one. */
export function SectionWithForm({ addLabel, form, children, ...section }: Props) {
  const [isOpen, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  return (
    <Section
      {...section}
      actions={
        <Button variant="default" size="xs" onClick={() => setOpen(true)}>
          {addLabel}
        </Button>
      }
    >
      {children}
      <Dialog isOpen={isOpen} onClose={close} title={addLabel}>
        {form(close)}
      </Dialog>
    </Section>
  )
}
