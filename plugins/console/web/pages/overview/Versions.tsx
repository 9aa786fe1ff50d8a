import { Text } from '@mantine/core'
import { count } from '../../format.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { text } from '../../text/text.ts'
import { useClients } from '../clients/queries.ts'

/** The versions of agents, with the number of clients that run each. */
export function Versions() {
  const clients = useClients().data ?? []
  const versions = Map.groupBy(clients, ({ agent_version }) => agent_version ?? text.overview.noVersion)
  if (versions.size === 0) return null
  return (
    <Section title={text.overview.versions} actions={<PageLink to="/clients">{text.pages.clients}</PageLink>}>
      <ul className="changes">
        {[...versions].map(([version, all]) => (
          <li key={version}>
            {version}
            <Text component="span" size="sm" c="dimmed">
              {text.overview.clientsWith(count(all.length))}
            </Text>
          </li>
        ))}
      </ul>
    </Section>
  )
}
