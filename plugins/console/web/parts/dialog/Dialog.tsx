import { Group, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { text } from '../../text/text.ts'

interface Props {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly size?: string
  readonly children: ReactNode
}

/** A modal dialog. It composes Mantine's parts, because `Modal` adds a second banner landmark to the page. */
export const Dialog = ({ title, isOpen, onClose, size = 'md', children }: Props) => (
  <Modal.Root opened={isOpen} onClose={onClose} size={size}>
    <Modal.Overlay />
    <Modal.Content>
      <Group justify="space-between" align="start" wrap="nowrap" p="md" pb={0}>
        <Modal.Title fw={600}>{title}</Modal.Title>
        <Modal.CloseButton aria-label={text.close} />
      </Group>
      <Modal.Body pt="xs">{children}</Modal.Body>
    </Modal.Content>
  </Modal.Root>
)
