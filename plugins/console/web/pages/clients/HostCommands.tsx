import { Text } from '@mantine/core'
import { Command } from '../../parts/Command.tsx'
import { text } from '../../text/text.ts'

interface Props {
  readonly uri: string
  readonly command: string // enrolls only
}

/** The commands to run on an edge host: one with systemd, two without. */
export const HostCommands = ({ uri, command }: Props) => (
  <>
    <Text>{text.clients.paste}</Text>
    <Command value={`sudo sluice agent join '${uri}' --service`} />
    <details>
      <summary>{text.clients.withoutService}</summary>
      <Command value={command} />
      <Command value="sluice agent run" />
    </details>
  </>
)
