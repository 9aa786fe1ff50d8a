import { Route, Switch } from 'wouter'
import { useRight } from '../../api/rights.ts'
import { RuleDetail } from './detail/RuleDetail.tsx'
import { EditRule } from './form/EditRule.tsx'
import { NewRule } from './form/NewRule.tsx'
import { RuleList } from './RuleList.tsx'

export default function Rules() {
  const mayChange = useRight('changesRules')
  return (
    <Switch>
      {mayChange && (
        <Route path="/rules/new">
          <NewRule />
        </Route>
      )}
      {mayChange && <Route path="/rules/:id/edit">{({ id }) => <EditRule key={id} id={id} />}</Route>}
      <Route path="/rules/:id">{({ id }) => <RuleDetail key={id} id={id} />}</Route>
      <Route>
        <RuleList />
      </Route>
    </Switch>
  )
}
