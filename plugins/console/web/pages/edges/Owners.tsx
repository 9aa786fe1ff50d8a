import { Anchor, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { call, type Row, rows } from '../../api/client.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { Refusal } from '../../parts/Refusal.tsx'
import { Section } from '../../parts/Section.tsx'
import { SchemaField } from '../../parts/schema-form/SchemaField.tsx'
import { useSchemas } from '../../parts/schema-form/use-schemas.ts'
import { given, type Values } from '../../parts/schema-form/values.ts'
import { text } from '../../text/text.ts'
import { inWords } from '../rules/detail/in-words.ts'
import type { Edge } from './queries.ts'

type Owner = Row<'GET /v1/clients/{client_id}/owners'>

/** Whose rules the edge has, and the limits that each owner's rules have there together. */
export function Owners({ edge }: { readonly edge: Edge }) {
  const path = { client_id: edge.client_id }
  const [chosen, choose] = useState<string | null>(null)
  const owners = useQuery({
    queryKey: ['owners', edge.client_id],
    queryFn: () => rows('GET /v1/clients/{client_id}/owners', { path })
  })
  if (!owners.data || owners.data.length === 0) return null
  return (
    <Section title={text.edges.owners}>
      <PlainTable
        label={text.edges.owners}
        columns={[
          { title: text.rules.owner },
          { title: text.pages.rules, numeric: true },
          { title: text.fields['rate_limit'] ?? '' },
          { title: text.edges.change }
        ]}
        rows={owners.data.map(owner => ({
          key: owner.owner_id,
          cells: [
            owner.owner_id,
            <Anchor
              key="rules"
              component={Link}
              href={`/rules?edge=${edge.client_id}&owner=${encodeURIComponent(owner.owner_id)}`}
              size="sm"
            >
              {count(owner.rule_count)}
            </Anchor>,
            <Limits key="limits" edge={edge} owner={owner} />,
            <Button
              key="change"
              size="compact-xs"
              variant="default"
              aria-label={text.edges.limitsOf(owner.owner_id)}
              onClick={() => choose(owner.owner_id)}
            >
              {text.edges.change}
            </Button>
          ]
        }))}
      />
      <Dialog
        isOpen={chosen !== null}
        onClose={() => choose(null)}
        title={text.edges.limitsOf(chosen ?? '')}
        size="lg"
      >
        {chosen !== null && (
          <EditLimits
            edge={edge}
            owner={chosen}
            isSet={owners.data.some(({ owner_id, has_rate_limit }) => owner_id === chosen && has_rate_limit)}
            onDone={() => choose(null)}
          />
        )}
      </Dialog>
    </Section>
  )
}

const useLimits = ({ client_id }: Edge, owner_id: string, isSet: boolean) =>
  useQuery({
    queryKey: ['limits', client_id, owner_id],
    queryFn: () =>
      call('GET /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path: { client_id, owner_id } }),
    enabled: isSet
  })

function Limits({ edge, owner }: { readonly edge: Edge; readonly owner: Owner }) {
  const { data } = useLimits(edge, owner.owner_id, owner.has_rate_limit)
  if (!owner.has_rate_limit) return '–'
  if (!data) return '…'
  return (
    <>
      {inWords(data.rate_limit)}
      {!data.enforced && (
        <Text span size="xs" c="dimmed">
          {' '}
          {text.edges.notEnforced}
        </Text>
      )}
    </>
  )
}

interface EditProps {
  readonly edge: Edge
  readonly owner: string
  readonly isSet: boolean
  readonly onDone: () => void
}

function EditLimits({ edge, owner, isSet, onDone }: EditProps) {
  const path = { client_id: edge.client_id, owner_id: owner }
  const { data: schemas } = useSchemas()
  const limits = useLimits(edge, owner, isSet)
  const [changed, setChanged] = useState<Values | null>(null)
  const save = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PUT /v1/clients/{client_id}/owners/{owner_id}/rate-limit', {
        path,
        body: changed ?? {}
      }),
    onSuccess: onDone
  })
  const remove = useMutation({
    meta: { shown: true },
    mutationFn: () => call('DELETE /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path }),
    onSuccess: onDone
  })
  const values: Values = changed ?? { ...limits.data?.rate_limit }
  if (!schemas || (isSet && !limits.data)) return <Text c="dimmed">{text.loading}</Text>
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <Stack>
        <Text size="sm">{text.edges.limitsHint}</Text>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {Object.entries(schemas['RateLimit']?.properties ?? {}).map(([key, schema]) => (
            <SchemaField
              key={key}
              name={key}
              schema={schema}
              schemas={schemas}
              value={values[key]}
              onChange={value => setChanged((given({ ...values, [key]: value }) as Values | undefined) ?? {})}
              error={save.error}
            />
          ))}
        </SimpleGrid>
        <Refusal error={save.error ?? remove.error} />
        <Group>
          <Button type="submit" loading={save.isPending} disabled={changed === null}>
            {text.ruleForm.save}
          </Button>
          {isSet && (
            <Button
              variant="default"
              c="var(--bad)"
              loading={remove.isPending}
              onClick={() => remove.mutate()}
            >
              {text.edges.removeLimits}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  )
}
