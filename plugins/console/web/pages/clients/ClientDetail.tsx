import { Alert, Anchor, Button, Group } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Empty } from '../../parts/EmptyState.tsx'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { State } from '../../parts/StateLabel.tsx'
import { When } from '../../parts/Timestamp.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { columnsOf } from '../rules/columns.tsx'
import { isOn } from '../rules/filters.ts'
import { useRules } from '../rules/queries.ts'
import { Buttons } from './ClientActions.tsx'
import { Owners } from './ClientOwners.tsx'
import { type Edge, useEdges, useEdgesById } from './queries.ts'

export function Detail({ id }: { readonly id: string }) {
  const edges = useEdges()
  const isSuperadmin = useMe().data?.role === 'superadmin'
  return (
    <Loaded query={edges}>
      {all => {
        const edge = all.find(({ client_id }) => client_id === id)
        if (!edge) return <Missing />
        return (
          <>
            <Anchor component={Link} href="/edges" size="sm">
              {text.pages.edges}
            </Anchor>
            <Head title={edge.client_name}>
              <State of={edge.state} />
              {isSuperadmin && <Buttons edge={edge} />}
            </Head>
            {edge.state === 'disconnected' && (
              <Alert color="orange" variant="default" mb="lg" role="status">
                {text.edges.awayHint}
              </Alert>
            )}
            <EdgeFacts edge={edge} />
            <Rules id={id} />
            {isSuperadmin && <Owners edge={edge} />}
            <Capabilities edge={edge} />
          </>
        )
      }}
    </Loaded>
  )
}

const Missing = () => (
  <>
    <Head title={text.pages.edges} />
    <Empty what={text.edges.none}>
      <Anchor component={Link} href="/edges">
        {text.pages.edges}
      </Anchor>
    </Empty>
  </>
)

function Rules({ id }: { readonly id: string }) {
  const rules = useRules()
  const edges = useEdgesById()
  const columns = useMemo(() => columnsOf(edges).filter(column => column.id !== 'edge'), [edges])
  return (
    <Section
      title={text.edges.rules}
      actions={
        <Group gap="sm">
          <Anchor component={Link} href={`/rules?edge=${id}`} size="sm">
            {text.edges.inList}
          </Anchor>
          <Anchor component={Link} href={`/connections?client=${id}`} size="sm">
            {text.pages.connections}
          </Anchor>
          <Button component={Link} href={`/rules/new?edge=${id}`} variant="default" size="xs">
            {text.rules.add}
          </Button>
        </Group>
      }
    >
      <Loaded query={rules}>
        {rows => (
          <Table
            name="edge-rules"
            what={text.rules.what}
            rows={rows.filter(rule => isOn(rule, id))}
            columns={columns}
            idOf={({ rule_id }) => rule_id}
            empty={<Empty what={text.edges.noRules} />}
          />
        )}
      </Loaded>
    </Section>
  )
}

function EdgeFacts({ edge }: { readonly edge: Edge }) {
  const labels = Object.entries(edge.labels)
  return (
    <Facts>
      <Fact name={text.edges.address}>{edge.address}</Fact>
      <Fact name={text.edges.version}>{edge.agent_version}</Fact>
      <Fact name={text.edges.from}>{edge.remote_addr}</Fact>
      <Fact name={text.edges.seen}>
        {edge.connected ? text.edges.now : edge.last_seen_at && <When at={edge.last_seen_at} form="ago" />}
      </Fact>
      <Fact name={text.edges.enrolled}>
        <When at={edge.enrolled_at} />
      </Fact>
      {edge.connected_at !== null && (
        <Fact name={text.edges.connectedSince}>
          <When at={edge.connected_at} />
        </Fact>
      )}
      {edge.revoked_at !== null && (
        <Fact name={text.states.revoked}>
          <When at={edge.revoked_at} />
        </Fact>
      )}
      <Fact name={text.fields['labels'] ?? ''}>
        {labels.length === 0 ? null : labels.map(([key, value]) => `${key}=${value}`).join(', ')}
      </Fact>
    </Facts>
  )
}

/** What its agent can do, as it last said. */
function Capabilities({ edge: { capabilities } }: { readonly edge: Edge }) {
  if (capabilities === null) return null
  return (
    <Section title={text.edges.capabilities}>
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
