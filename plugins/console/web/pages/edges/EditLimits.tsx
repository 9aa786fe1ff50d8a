import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { Refusal } from '../../parts/Refusal.tsx'
import { SchemaField } from '../../parts/schema-form/SchemaField.tsx'
import { useSchemas } from '../../parts/schema-form/use-schemas.ts'
import { given, type Values } from '../../parts/schema-form/values.ts'
import { text } from '../../text/text.ts'
import type { Edge } from './queries.ts'

export const useLimits = ({ client_id }: Edge, owner_id: string, isSet: boolean) =>
  useQuery({
    queryKey: ['limits', client_id, owner_id],
    queryFn: () =>
      call('GET /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path: { client_id, owner_id } }),
    enabled: isSet
  })

interface EditProps {
  readonly edge: Edge
  readonly owner: string
  readonly isSet: boolean
  readonly onDone: () => void
}

export function EditLimits({ edge, owner, isSet, onDone }: EditProps) {
  const path = { client_id: edge.client_id, owner_id: owner }
  const { data: schemas } = useSchemas()
  const limits = useLimits(edge, owner, isSet)
  const [changed, setChanged] = useState<Values | null>(null)
  const { save, remove } = useChanges(path, changed, onDone)
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

function useChanges(
  path: { readonly client_id: string; readonly owner_id: string },
  changed: Values | null,
  onSuccess: () => void
) {
  const save = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PUT /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path, body: changed ?? {} }),
    onSuccess
  })
  const remove = useMutation({
    meta: { shown: true },
    mutationFn: () => call('DELETE /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path }),
    onSuccess
  })
  return { save, remove }
}
