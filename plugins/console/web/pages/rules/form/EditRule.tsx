import { Anchor, Button, Paper, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { errorOf } from '../../../api/api-error.ts'
import { call } from '../../../api/call.ts'
import { notify } from '../../../app/notices.ts'
import { Reason } from '../../../parts/FormError.tsx'
import { Head } from '../../../parts/PageHead.tsx'
import { Loaded } from '../../../parts/QueryResult.tsx'
import type { Schemas } from '../../../parts/schema-form/schema.ts'
import { useSchemas } from '../../../parts/schema-form/use-schemas.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import { type Edge, useEdges } from '../../clients/queries.ts'
import { nameOf, type Rule, useRule } from '../queries.ts'
import { Overtaken } from './RuleConflict.tsx'
import { RuleForm } from './RuleForm.tsx'
import { asPatch, changesOf, valuesOf } from './rule-values.ts'

export function EditRule({ id }: { readonly id: string }) {
  const rule = useRule(id)
  const edges = useEdges()
  const schemas = useSchemas()
  return (
    <Loaded query={rule}>
      {now => (
        <>
          <Anchor component={Link} href={`/rules/${id}`} size="sm">
            {nameOf(now)}
          </Anchor>
          <Head title={text.ruleForm.edit} />
          <Paper maw={860}>
            <Loaded query={edges}>
              {all => (
                <Loaded query={schemas}>{found => <Edit now={now} edges={all} schemas={found} />}</Loaded>
              )}
            </Loaded>
          </Paper>
        </>
      )}
    </Loaded>
  )
}

interface Props {
  readonly now: Rule // as it is, read again and again
  readonly edges: readonly Edge[]
  readonly schemas: Schemas
}

/** Sends what was changed, and only if nobody else has changed the rule since it was opened. */
function Edit({ now, edges, schemas }: Props) {
  const [opened, setOpened] = useState(now)
  const [, go] = useLocation()
  const path = { rule_id: now.rule_id }
  const save = useMutation({
    meta: { shown: true },
    mutationFn: async ({ changes, etag }: { readonly changes: Values; readonly etag: string }) => {
      if (Object.keys(changes).length === 0) return now
      return call('PATCH /v1/rules/{rule_id}', {
        path,
        body: asPatch(changes),
        headers: { 'if-match': etag }
      })
    },
    onSuccess: rule => {
      notify(text.ruleForm.saved(nameOf(rule)))
      go(`/rules/${rule.rule_id}`)
    }
  })
  const error = save.error && errorOf(save.error)
  const isOvertaken = error?.status === 412
  return (
    <>
      {isOvertaken && save.variables && (
        <Overtaken
          before={valuesOf(opened)}
          path={path}
          changes={save.variables.changes}
          isBusy={save.isPending}
          onSend={(changes, etag) => save.mutate({ changes, etag })}
          onTheirs={theirs => {
            setOpened(theirs)
            save.reset()
          }}
        />
      )}
      {error?.code === 'ack_timeout' && (
        <Text role="alert" mb="md">
          {text.ruleForm.settles} <Reason error={error} />
        </Text>
      )}
      <RuleForm
        key={opened.etag}
        initial={valuesOf(opened)}
        {...{ edges, schemas }}
        isFixed
        error={isOvertaken ? null : save.error}
        isBusy={save.isPending}
        submit={text.ruleForm.save}
        onSubmit={values => save.mutate({ changes: changesOf(valuesOf(opened), values), etag: opened.etag })}
      >
        <Button component={Link} href={`/rules/${now.rule_id}`} variant="default">
          {text.cancel}
        </Button>
      </RuleForm>
    </>
  )
}
