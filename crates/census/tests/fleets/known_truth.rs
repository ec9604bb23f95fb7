//! What a census says of simulated fleets whose truth is known.

use super::*;

/// Percentage of fleets in which a false condition may be named.
const MOST_WRONG_PERCENT: usize = 5;

/// Simulated fleets without a planted cause.
const FLEETS: u64 = 200;

/// The conditions that tell affected hosts from clear ones, as their parts.
fn conditions(census: &Census) -> Vec<(Factor, Side, String)> {
    match &scenario(census).apart {
        Telling::Conditions(found) => {
            let mut all: Vec<_> = found
                .all
                .iter()
                .map(|one| (one.cut.factor, one.cut.side, one.cut.level.clone()))
                .collect();
            all.sort_by_key(|(factor, ..)| *factor);
            all
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_planted_cause_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let planted = [
        (Factor::KernelSeries, Side::Is, "6.1".to_owned()),
        (Factor::Hz, Side::Is, "250".to_owned()),
    ];
    let found = (0..10).filter(|seed| {
        let census = of(folder.path(), &lines(World::of(4000, *seed, true)).0);
        let conditions = conditions(&census);
        println!("seed {seed}: {conditions:?}");
        planted.iter().all(|one| conditions.contains(one))
    });
    assert!(found.count() >= 9);
}

/// By chance 2.5 of 100 fleets, since the first condition has half of the error rate.
#[test]
fn where_nothing_was_planted_hardly_anything_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let wrong: Vec<u64> = (0..FLEETS)
        .filter(|seed| {
            let census = of(folder.path(), &lines(World::of(500, 1000 + seed, false)).0);
            !conditions(&census).is_empty()
        })
        .collect();
    println!("{} of {FLEETS}: {wrong:?}", wrong.len());
    assert!(wrong.len() * 100 <= FLEETS as usize * MOST_WRONG_PERCENT, "{wrong:?}");
}

#[test]
fn what_is_wrong_with_records_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, truth) = lines(World::of(5000, 7, true));
    let census = of(folder.path(), &lines);
    let hosts = scenario(&census).hosts;
    assert_eq!(census.hosts, 5000);
    assert_eq!((hosts.affected, hosts.clear), (truth.affected, truth.clear));
    let hostile = [Why::Truncated, Why::Damaged, Why::TooLarge, Why::Newer, Why::UnknownScenario];
    assert_eq!(count(&census, &hostile), truth.hostile);
    assert_eq!(count(&census, &[Why::Duplicate]), truth.duplicates);
    assert_eq!(count(&census, &[Why::Superseded]), truth.superseded);
    // A duplicate of a record with a wrong clock has the wrong clock too.
    assert!(count(&census, &[Why::WrongClock]) >= truth.wrong_clocks);
    assert!(count(&census, &[Why::Contradictory]) >= truth.liars && truth.liars > 0);
    assert!(
        census.set_aside.iter().all(|one| !one.examples.is_empty() && one.examples.len() <= 20)
    );
    let share = scenario(&census).share.as_ref().unwrap();
    assert!(share.low.unwrap() < share.high.unwrap());
    assert_eq!(share.undecided, 5000 - truth.affected - truth.clear);
    assert!(share.least < share.most && share.most < share.high.unwrap(), "{share:?}");
    assert_eq!(census.groups.iter().map(|group| group.hosts.count).sum::<u64>(), 5000);
}

/// Files in folders, an archive, compressed lines and plain lines give the same fleet.
#[test]
fn the_form_and_the_threads_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, _) = lines(World { hostile: 0.0, ..World::of(300, 3, true) });
    let plain = of(folder.path(), &lines);
    let packed = folder.path().join("fleet.jsonl.gz");
    let mut packer = GzEncoder::new(std::fs::File::create(&packed).unwrap(), Compression::fast());
    packer.write_all(&lines).unwrap();
    packer.finish().unwrap();
    let (files, archive) = (folder.path().join("files"), folder.path().join("fleet.tar"));
    let mut writer = tar::Builder::new(std::fs::File::create(&archive).unwrap());
    for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let name = format!("{}/{number:04}.json", host(line));
        let own = files.join(&name);
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(own, line).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(line.len() as u64);
        writer.append_data(&mut header, name, line).unwrap();
    }
    writer.finish().unwrap();
    for path in [packed, files, archive] {
        for threads in [1, 3] {
            let other = taken(&fleet(std::slice::from_ref(&path), threads), None, None);
            assert_eq!(other.hosts, plain.hosts, "{path:?}");
            assert_eq!(scenario(&other).hosts, scenario(&plain).hosts);
            assert_eq!(scenario(&other).share, scenario(&plain).share);
            let named = |census: &Census| -> Vec<_> {
                census
                    .groups
                    .iter()
                    .map(|group| (group.answers.clone(), group.hosts.clone()))
                    .collect()
            };
            assert_eq!(named(&other), named(&plain));
        }
    }
}

#[test]
fn an_inventory_and_an_earlier_census_are_held_against_it() {
    let folder = tempfile::tempdir().unwrap();
    let quiet =
        World { hostile: 0.0, duplicates: 0.0, wrong_clocks: 0.0, ..World::of(400, 3, false) };
    let (lines, _) = lines(quiet);
    let before = of(folder.path(), &lines);
    let before = summary::previous(&serde_json::to_string(&before).unwrap()).unwrap();
    // The first ten hosts are gone, and one clear host is affected.
    let all: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
    let clear = all[10..]
        .iter()
        .position(|line| text(line).contains("\"state\":\"not-affected\""))
        .unwrap();
    let mut now: Vec<String> = all[10..].iter().map(|line| text(line)).collect();
    let affected =
        all.iter().map(|line| text(line)).find(|l| l.contains("\"state\":\"affected\"")).unwrap();
    let name = |line: &str| line.split("\"name\":\"").nth(1).unwrap()[..11].to_owned();
    now[clear] = affected.replace(&name(&affected), &name(&now[clear]));
    let path = folder.path().join("now.jsonl");
    std::fs::write(&path, now.concat()).unwrap();
    let inventory = inventory(405, |_| None);
    let census = taken(&fleet(&[path], 1), Some(&inventory), Some(&before));
    let unreachable = census.unreachable.as_ref().unwrap();
    assert_eq!((unreachable.count, unreachable.names.len()), (15, 2));
    assert_eq!(scenario(&census).hosts.unreachable, 15);
    assert_eq!(census.not_in_inventory, None);
    let since = census.since.as_ref().unwrap();
    assert_eq!((since.gone.count, since.new.count, since.unknown), (10, 0, 0));
    assert_eq!(since.scenarios.len(), 1);
    assert_eq!(since.scenarios[0].became_affected.count, 1);
    assert!(summary::previous("{}").is_err());
    assert!(summary::previous("[").is_err());
}

/// The planted cause is also found among owners that have hosts of every kind. Without an
/// inventory, or if it names no owner, the census does not claim that owners were tested.
#[test]
fn a_planted_cause_stands_out_among_owners_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.jsonl");
    std::fs::write(&path, lines(World::of(4000, 1, true)).0).unwrap();
    let fleet = fleet(&[path], 2);
    let owners = |owner: &dyn Fn(u32) -> Option<String>| {
        let census = taken(&fleet, Some(&inventory(4000, owner)), None);
        let one = scenario(&census);
        match &one.apart {
            Telling::Conditions(found) => (one.share.as_ref().unwrap().owners, found.owners),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(owners(&|_| None), (None, None));
    let of_twenty = |host| Some(format!("team{}", host % 20));
    assert_eq!(owners(&of_twenty), (Some(20), Some(20)));
    // Hosts without an owner count as one more owner.
    let of_some = |host: u32| host.is_multiple_of(2).then(|| format!("team{}", host % 20));
    assert_eq!(owners(&of_some), (Some(11), Some(11)));
}
