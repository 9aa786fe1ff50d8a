import { Anchor, Button, Paper, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { call } from '../../../api/call.ts'
import { notify } from '../../../app/notices.ts'
import { Empty } from '../../../parts/EmptyState.tsx'
import { Head } from '../../../parts/PageHead.tsx'
import { Loaded } from '../../../parts/QueryResult.tsx'
import { useSchemas } from '../../../parts/schema-form/use-schemas.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import { type Edge, useEdges } from '../../clients/queries.ts'
import { nameOf, type Rule, useRule } from '../queries.ts'
import { RuleForm } from './RuleForm.tsx'
import { keptAsFailed } from './rule-errors.ts'
import { bodyOf, emptyRule, likeRule } from './rule-values.ts'

/** /rules/new, of an edge ?edge=ID, or like another rule ?like=ID */
export function NewRule() {
  const [params] = useSearchParams()
  const edges = useEdges()
  const schemas = useSchemas()
  const like = params.get('like')
  const [, go] = useLocation()
  const form = (all: readonly Edge[], initial: Values) => (
    <Loaded query={schemas}>
      {found => (
        <CreateForm
          edges={all}
          initial={initial}
          schemas={found}
          onDone={({ rule_id }) => go(`/rules/${rule_id}`)}
        />
      )}
    </Loaded>
  )
  return (
    <>
      <Anchor component={Link} href="/rules" size="sm">
        {text.pages.rules}
      </Anchor>
      <Head title={text.rules.title} />
      <Paper maw={860}>
        <Loaded query={edges}>
          {all => {
            const usable = all.filter(({ state }) => state !== 'revoked')
            if (usable.length === 0)
              return (
                <Empty what={text.rules.noEdges}>
                  <Button component={Link} href="/edges">
                    {text.pages.edges}
                  </Button>
                </Empty>
              )
            if (like !== null) return <Like id={like}>{rule => form(usable, likeRule(rule))}</Like>
            return form(usable, emptyRule(usable, params.get('edge') ?? undefined))
          }}
        </Loaded>
      </Paper>
    </>
  )
}

function Like({ id, children }: { readonly id: string; readonly children: (rule: Rule) => ReactNode }) {
  return <Loaded query={useRule(id)}>{children}</Loaded>
}

interface Props {
  readonly edges: readonly Edge[]
  readonly initial: Values
  readonly schemas: Parameters<typeof RuleForm>[0]['schemas']
  readonly onDone?: (rule: Rule) => void
}

/**
 * Creates a rule. One that its client refuses is kept by the server as failed, and has the port: the next try takes it
 * out of the way.
 */
export function CreateForm({ edges, initial, schemas, onDone }: Props) {
  const create = useMutation({
    meta: { shown: true },
    mutationFn: async (values: Values) => {
      const kept = keptAsFailed(create.error)
      if (kept !== null) await call('DELETE /v1/rules/{rule_id}', { path: { rule_id: kept } })
      return call('POST /v1/rules', { body: bodyOf(values) })
    },
    onSuccess: rule => {
      notify(text.rules.made(nameOf(rule)))
      onDone?.(rule)
    }
  })
  const kept = keptAsFailed(create.error)
  return (
    <RuleForm
      {...{ edges, initial, schemas }}
      error={create.error}
      isBusy={create.isPending}
      submit={text.rules.submit}
      onSubmit={values => create.mutate(values)}
    >
      {kept !== null && (
        <Text size="sm">
          {text.ruleForm.kept}{' '}
          <Anchor component={Link} href={`/rules/${kept}`} size="sm">
            {text.ruleForm.keptLink}
          </Anchor>
        </Text>
      )}
    </RuleForm>
  )
}
