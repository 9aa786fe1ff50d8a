import { Button, Paper, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { call } from '../../../api/call.ts'
import { notify } from '../../../app/notices.ts'
import { EmptyState } from '../../../parts/EmptyState.tsx'
import { PageHead } from '../../../parts/page/PageHead.tsx'
import { PageLink } from '../../../parts/page/PageLink.tsx'
import { QueryResult } from '../../../parts/QueryResult.tsx'
import type { Schemas } from '../../../parts/schema-form/schema.ts'
import { useSchemas } from '../../../parts/schema-form/use-schemas.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import { type Client, useClients } from '../../clients/queries.ts'
import { nameOf, type Rule, useRule } from '../queries.ts'
import { RuleForm } from './RuleForm.tsx'
import { storedAsFailed } from './rule-errors.ts'
import { duplicateRule, emptyRule, toBody } from './rule-values.ts'

/** /rules/new, for a client (?client=ID) or as a copy of a rule (?like=ID) */
export function NewRule() {
  const [params] = useSearchParams()
  const clients = useClients()
  const schemas = useSchemas()
  const like = params.get('like')
  const [, go] = useLocation()
  const form = (all: readonly Client[], initialOf: (schemas: Schemas) => Values) => (
    <QueryResult query={schemas}>
      {found => (
        <CreateForm
          clients={all}
          initial={initialOf(found)}
          schemas={found}
          onDone={({ rule_id }) => go(`/rules/${rule_id}`)}
        />
      )}
    </QueryResult>
  )
  return (
    <>
      <PageLink to="/rules">{text.pages.rules}</PageLink>
      <PageHead title={text.rules.title} />
      <Paper withBorder p="lg">
        <QueryResult query={clients}>
          {all => {
            const usable = all.filter(({ state }) => state !== 'revoked')
            if (usable.length === 0)
              return (
                <EmptyState what={text.rules.noClients}>
                  <Button component={Link} href="/clients">
                    {text.pages.clients}
                  </Button>
                </EmptyState>
              )
            if (like !== null)
              return <Like id={like}>{rule => form(usable, schemas => duplicateRule(rule, schemas))}</Like>
            return form(usable, () => emptyRule(usable, params.get('client') ?? undefined))
          }}
        </QueryResult>
      </Paper>
    </>
  )
}

function Like({ id, children }: { readonly id: string; readonly children: (rule: Rule) => ReactNode }) {
  return <QueryResult query={useRule(id)}>{children}</QueryResult>
}

interface Props {
  readonly clients: readonly Client[]
  readonly initial: Values
  readonly schemas: Parameters<typeof RuleForm>[0]['schemas']
  readonly onDone?: (rule: Rule) => void
}

/** Creates a rule. If the client refuses it, the server stores it as failed; the next attempt deletes that rule first. */
export function CreateForm({ clients, initial, schemas, onDone }: Props) {
  const create = useMutation({
    meta: { shown: true },
    mutationFn: async (values: Values) => {
      const failedId = storedAsFailed(create.error)
      if (failedId !== null) await call('DELETE /v1/rules/{rule_id}', { path: { rule_id: failedId } })
      return call('POST /v1/rules', { body: toBody(values) })
    },
    onSuccess: rule => {
      notify(text.rules.createdNotice(nameOf(rule)))
      onDone?.(rule)
    }
  })
  const failedId = storedAsFailed(create.error)
  return (
    <RuleForm
      clients={clients}
      initial={initial}
      schemas={schemas}
      error={create.error}
      isBusy={create.isPending}
      submit={text.rules.submit}
      onSubmit={values => create.mutate(values)}
    >
      {failedId !== null && (
        <Text size="sm">
          {text.ruleForm.storedAsFailed}{' '}
          <PageLink to={`/rules/${failedId}`}>{text.ruleForm.showRule}</PageLink>
        </Text>
      )}
    </RuleForm>
  )
}
