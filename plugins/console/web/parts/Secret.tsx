import { Button, Stack, Text } from '@mantine/core'
import { text } from '../text/text.ts'
import { Command } from './Command.tsx'

/** A secret that the server returns once. It is not stored: closing the dialog discards it. */
export const Secret = ({
  name,
  value,
  onDone
}: Record<'name' | 'value', string> & { readonly onDone: () => void }) => (
  <Stack role="status">
    <Text fw={600}>{name}</Text>
    <Command value={value} />
    <Text size="sm">{text.secret.once}</Text>
    <Button variant="default" onClick={onDone} style={{ alignSelf: 'end' }}>
      {text.secret.done}
    </Button>
  </Stack>
)
