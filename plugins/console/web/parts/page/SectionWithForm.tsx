import type { ReactNode } from 'react'
import { DialogButton } from '../dialog/DialogButton.tsx'
import { Section } from './Section.tsx'

interface Props {
  readonly title: string
  readonly note?: string
  readonly addLabel: string
  readonly mayAdd: boolean
  readonly form: (close: () => void) => ReactNode // of a new record
  readonly children: ReactNode
}

/** A section of records, with a dialog for a new one. */
export const SectionWithForm = ({ addLabel, mayAdd, form, ...section }: Props) => (
  <Section
    {...section}
    actions={
      mayAdd && (
        <DialogButton label={addLabel} size="xs">
          {form}
        </DialogButton>
      )
    }
  />
)
