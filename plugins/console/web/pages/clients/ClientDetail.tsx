import { Alert, Button, Group } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { useRight } from '../../api/rights.ts'
import { Facts } from '../../parts/Facts.tsx'
import { MissingRecord } from '../../parts/page/MissingRecord.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { isOn } from '../rules/filters.ts'
import { useRules } from '../rules/queries.ts'
import { ruleColumns } from '../rules/rule-columns.tsx'
import { useRuleRates } from '../rules/use-rule-rates.ts'
import { TrafficHistory } from '../traffic/TrafficHistory.tsx'
import { ClientActions } from './ClientActions.tsx'
import { ClientLinks } from './ClientLinks.tsx'
import { ClientOwners } from './ClientOwners.tsx'
import { HostHealth } from './HostHealth.tsx'
import { type Client, useClients, useClientsById } from './queries.ts'

export function ClientDetail({ id }: { readonly id: string }) {
  const clients = useClients()
  const seesAll = useRight('seesAll')
  const mayChange = useRight('managesAll')
  return (
    <QueryResult query={clients}>
      {all => {
        const client = all.find(({ client_id }) => client_id === id)
        if (!client)
          return <MissingRecord title={text.pages.clients} to="/clients" what={text.clients.none} />
        return (
          <>
            <PageLink to="/clients">{text.pages.clients}</PageLink>
            <PageHead title={client.client_name}>
              <StateLabel state={client.state} />
              {mayChange && <ClientActions client={client} />}
            </PageHead>
            {client.state === 'disconnected' && (
              <Alert color="orange" variant="default" mb="lg" role="status">
                {text.clients.offlineHint}
              </Alert>
            )}
            {client.state === 'pending' && (
              <Alert color="orange" variant="default" mb="lg" role="status">
                {text.clients.pendingHint}
              </Alert>
            )}
            {client.instance_conflict !== null && (
              <Alert color="red" variant="default" mb="lg" role="alert">
                {text.clients.conflict(client.instance_conflict.remote_addrs.join(', '))}
              </Alert>
            )}
            <ClientFacts client={client} />
            {seesAll && <HostHealth client={client} />}
            <Rules id={id} />
            <ClientLinks client={client} />
            {seesAll && <TrafficHistory of={{ user: '', client: id }} />}
            {seesAll && <ClientOwners client={client} />}
            <Capabilities client={client} />
          </>
        )
      }}
    </QueryResult>
  )
}

function Rules({ id }: { readonly id: string }) {
  const rules = useRules()
  const clients = useClientsById()
  const mayAdd = useRight('changesRules')
  const rates = useRuleRates()
  const columns = useMemo(
    () => ruleColumns(clients, rates).filter(column => column.id !== 'client'),
    [clients, rates]
  )
  return (
    <Section
      title={text.clients.rules}
      actions={
        <Group gap="sm">
          <PageLink to={`/rules?client=${id}`}>{text.clients.inList}</PageLink>
          <PageLink to={`/connections?client=${id}`}>{text.pages.connections}</PageLink>
          {mayAdd && (
            <Button component={Link} href={`/rules/new?client=${id}`} variant="default" size="xs">
              {text.rules.add}
            </Button>
          )}
        </Group>
      }
    >
      <QueryResult query={rules}>
        {rows => (
          <Table
            name="client-rules"
            what={text.rules.what}
            rows={rows.filter(rule => isOn(rule, id))}
            columns={columns}
            idOf={({ rule_id }) => rule_id}
            empty={text.clients.noRules}
          />
        )}
      </QueryResult>
    </Section>
  )
}

function ClientFacts({ client }: { readonly client: Client }) {
  const labels = Object.entries(client.labels)
  return (
    <Facts
      facts={[
        { name: text.clients.address, value: client.address },
        { name: text.clients.version, value: client.agent_version },
        { name: text.clients.from, value: client.remote_addr },
        {
          name: text.clients.seen,
          value: client.connected
            ? text.clients.now
            : client.last_seen_at && <Timestamp at={client.last_seen_at} format="ago" />
        },
        { name: text.clients.enrolled, value: <Timestamp at={client.enrolled_at} /> },
        client.connected_at !== null && {
          name: text.clients.connectedSince,
          value: <Timestamp at={client.connected_at} />
        },
        client.revoked_at !== null && {
          name: text.states.revoked,
          value: <Timestamp at={client.revoked_at} />
        },
        {
          name: text.fields['labels'] ?? '',
          value: labels.length === 0 ? null : labels.map(([key, value]) => `${key}=${value}`).join(', ')
        }
      ]}
    />
  )
}

/** Capabilities that the agent last reported. */
function Capabilities({ client: { capabilities } }: { readonly client: Client }) {
  if (capabilities === null) return null
  return (
    <Section title={text.clients.capabilities}>
      <ul className="words">
        {Object.entries(capabilities)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([id, since]) => (
            <li key={id}>
              {id} <span>{since}</span>
            </li>
          ))}
      </ul>
    </Section>
  )
}
