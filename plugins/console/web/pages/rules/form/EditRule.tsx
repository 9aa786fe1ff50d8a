import { Button, Paper, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { toApiError } from '../../../api/api-error.ts'
import { call } from '../../../api/call.ts'
import { notify } from '../../../app/notices.ts'
import { ErrorText } from '../../../parts/form/FormError.tsx'
import { PageHead } from '../../../parts/page/PageHead.tsx'
import { PageLink } from '../../../parts/page/PageLink.tsx'
import { QueryResult } from '../../../parts/QueryResult.tsx'
import type { Schemas } from '../../../parts/schema-form/schema.ts'
import { useSchemas } from '../../../parts/schema-form/use-schemas.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import { type Client, useClients } from '../../clients/queries.ts'
import { allExisting, type Existing, ExistingSelect } from '../ExistingSelect.tsx'
import { nameOf, type Rule, useRule } from '../queries.ts'
import { RuleConflict } from './RuleConflict.tsx'
import { RuleForm } from './RuleForm.tsx'
import { asPatch, diffValues, toValues } from './rule-values.ts'

export function EditRule({ id }: { readonly id: string }) {
  const rule = useRule(id)
  const clients = useClients()
  const schemas = useSchemas()
  return (
    <QueryResult query={rule}>
      {now => (
        <>
          <PageLink to={`/rules/${id}`}>{nameOf(now)}</PageLink>
          <PageHead title={text.ruleForm.edit} />
          <Paper withBorder p="lg">
            <QueryResult query={clients}>
              {all => (
                <QueryResult query={schemas}>
                  {found => <Edit now={now} clients={all} schemas={found} />}
                </QueryResult>
              )}
            </QueryResult>
          </Paper>
        </>
      )}
    </QueryResult>
  )
}

interface Props {
  readonly now: Rule // the current version, updated by polling
  readonly clients: readonly Client[]
  readonly schemas: Schemas
}

/** Sends only the changed fields, and only if nobody else changed the rule since the form opened. */
function Edit({ now, clients, schemas }: Props) {
  const [opened, setOpened] = useState(now)
  const [existing, setExisting] = useState<Existing>('keep')
  const [, go] = useLocation()
  const path = { rule_id: now.rule_id }
  const save = useMutation({
    meta: { shown: true },
    mutationFn: async ({ changes, etag }: { readonly changes: Values; readonly etag: string }) => {
      if (Object.keys(changes).length === 0) return now
      return call('PATCH /v1/rules/{rule_id}', {
        path,
        query: { existing },
        body: asPatch(changes),
        headers: { 'if-match': etag }
      })
    },
    onSuccess: rule => {
      notify(text.ruleForm.saved(nameOf(rule)))
      go(`/rules/${rule.rule_id}`)
    }
  })
  const error = save.error && toApiError(save.error)
  const isConflict = error?.status === 412
  const before = toValues(opened, schemas)
  return (
    <>
      {isConflict && save.variables && (
        <RuleConflict
          before={before}
          schemas={schemas}
          path={path}
          changes={save.variables.changes}
          isBusy={save.isPending}
          onSave={(changes, etag) => save.mutate({ changes, etag })}
          onDiscard={theirs => {
            setOpened(theirs)
            save.reset()
          }}
        />
      )}
      {error?.code === 'ack_timeout' && <Unconfirmed error={error} />}
      <RuleForm
        key={opened.etag}
        initial={before}
        clients={clients}
        schemas={schemas}
        isFixed
        error={isConflict ? null : save.error}
        isBusy={save.isPending}
        submit={text.ruleForm.save}
        onSubmit={values => save.mutate({ changes: diffValues(before, values), etag: opened.etag })}
      >
        <ExistingSelect value={existing} onChange={setExisting} of={allExisting} />
        <Button component={Link} href={`/rules/${now.rule_id}`} variant="default">
          {text.cancel}
        </Button>
      </RuleForm>
    </>
  )
}

const Unconfirmed = ({ error }: Parameters<typeof ErrorText>[0]) => (
  <Text role="alert" mb="md">
    {text.ruleForm.unconfirmed} <ErrorText error={error} />
  </Text>
)
