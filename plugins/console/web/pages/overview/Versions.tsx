import { Paper, Text } from '@mantine/core'
import { count } from '../../format.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { ShortList } from '../../parts/ShortList.tsx'
import { text } from '../../text/text.ts'
import { useClients } from '../clients/queries.ts'

/** The versions of agents, with the number of clients that run each. */
export function Versions() {
  const clients = useClients().data ?? []
  const versions = Map.groupBy(clients, ({ agent_version }) => agent_version ?? text.overview.noVersion)
  if (versions.size === 0) return null
  return (
    <Section title={text.overview.versions} actions={<PageLink to="/clients">{text.pages.clients}</PageLink>}>
      <Paper withBorder p="md">
        <ShortList rows={[...versions]} idOf={([version]) => version} empty="">
          {([version, all]) => (
            <>
              {version}
              <Text component="span" c="dimmed">
                {text.overview.clientsWith(count(all.length))}
              </Text>
            </>
          )}
        </ShortList>
      </Paper>
    </Section>
  )
}
